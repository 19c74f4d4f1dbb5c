// Additive kernels beside feature maps and linear training: Tables 4 to 9 of the paper on PmSVM-LUT, for data we have.
import { bestCostSection, paperCostSection } from '../sections/additive.ts'
import type { Suite } from '../suite.ts'

const ALL = ['mnist', 'mnist-hog', 'visual-words', 'covtype-unit']

export const additive: Suite = {
  name: 'additive',
  summary: 'additive kernels beside feature maps, linear training and LIBLINEAR: time, memory, accuracy, prediction',
  sections: ['paper-cost', 'best-cost'],
  dataSets: ALL,
  async *run(context) {
    if (context.wants('paper-cost')) yield paperCostSection(context, ALL)
    if (context.wants('best-cost')) yield bestCostSection(context, ALL)
  },
}
